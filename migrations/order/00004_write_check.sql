-- +goose Up

-- Each service counts two writes here before it first says that it is ready, and reads them by another connection.
CREATE TABLE IF NOT EXISTS write_check (
    id     INT    NOT NULL,
    writes BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE IF EXISTS write_check;
