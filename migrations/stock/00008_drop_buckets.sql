-- +goose Up
DROP TABLE IF EXISTS stock_buckets;

-- +goose Down
CREATE TABLE IF NOT EXISTS stock_buckets (
    goods_id BIGINT NOT NULL,
    bucket   INT    NOT NULL,
    num      BIGINT NOT NULL,
    PRIMARY KEY (goods_id, bucket)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
