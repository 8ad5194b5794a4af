-- +goose Up

-- Orders that were deleted here, and whose operation and flow rows are still to be deleted in the stock database.
CREATE TABLE IF NOT EXISTS pruned (
    order_id BIGINT NOT NULL,
    PRIMARY KEY (order_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE IF EXISTS pruned;
