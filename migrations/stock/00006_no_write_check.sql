-- +goose Up

-- A service asks the server for its variables, and needs no table for it.
DROP TABLE IF EXISTS write_check;

-- +goose Down
CREATE TABLE IF NOT EXISTS write_check (
    id     INT    NOT NULL,
    writes BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
