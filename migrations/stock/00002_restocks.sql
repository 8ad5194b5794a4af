-- +goose Up

-- What each restock said of the goods, by which a repeat is told from another restock under its flag.
CREATE TABLE IF NOT EXISTS restocks (
    flag     VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    goods_id BIGINT       NOT NULL,
    name     VARCHAR(100) NULL COMMENT 'NULL: it left the name as it was',
    price    BIGINT       NULL COMMENT 'NULL: it left the price as it was',
    -- the look-up of a repeat: WHERE flag = ? AND goods_id = ?
    PRIMARY KEY (flag, goods_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS restocks;
