-- +goose Up

-- The version of the strategy "optimistic". MySQL cannot add a column only if there is none, and a migration that was
-- killed half-way runs again.
SET @add = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()
        AND table_name = 'stock' AND column_name = 'version') > 0, 'DO 0',
    'ALTER TABLE stock ADD COLUMN version BIGINT NOT NULL DEFAULT 0 COMMENT ''deductions under "optimistic"''');
PREPARE add_version FROM @add;
EXECUTE add_version;
DEALLOCATE PREPARE add_version;

-- The pieces that the strategy "skip-locked" has put into buckets. The level of a product is stock.num and the sum of
-- its buckets; under every other strategy it has none.
CREATE TABLE IF NOT EXISTS stock_buckets (
    goods_id BIGINT NOT NULL,
    bucket   INT    NOT NULL,
    num      BIGINT NOT NULL,
    -- any bucket of one goods: WHERE goods_id = ? AND num >= ?
    PRIMARY KEY (goods_id, bucket)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE IF EXISTS stock_buckets;
ALTER TABLE stock DROP COLUMN version;
