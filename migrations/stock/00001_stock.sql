-- +goose Up

CREATE TABLE IF NOT EXISTS stock (
    goods_id      BIGINT       NOT NULL,
    name          VARCHAR(100) NOT NULL DEFAULT '',
    price         BIGINT       NOT NULL DEFAULT 0 COMMENT 'of one piece, in minor units of the currency',
    num           BIGINT       NOT NULL DEFAULT 0 COMMENT 'pieces left; always the sum of the goods'' stock_flow rows',
    fencing_token BINARY(16)   NOT NULL DEFAULT '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' COMMENT 'highest token that wrote here; a lower one is refused',
    updated_at    DATETIME(6)  NOT NULL,
    -- one goods: WHERE goods_id = ?; pages: WHERE goods_id > ? ORDER BY goods_id
    PRIMARY KEY (goods_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The outcome of each operation, written once, in the transaction that carries it out.
-- DONE -> RESTORED is the one change that follows: the order was cancelled and the stock came back.
CREATE TABLE IF NOT EXISTS operations (
    flag          VARCHAR(64)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'operation flag: the order id',
    state         ENUM('DONE','REJECTED','CANCELLED','RESTORED') NOT NULL,
    reason        VARCHAR(200)  NOT NULL DEFAULT '',
    items         VARCHAR(3400) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'goods_id:num,… by rising goods_id; empty where a cancellation came first',
    fencing_token BINARY(16)    NOT NULL DEFAULT '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' COMMENT 'of the lock holder that wrote it; zero where no lock was held',
    created_at    DATETIME(6)   NOT NULL,
    -- the dedupe that decides, and the look-up of outcomes: WHERE flag IN (…)
    PRIMARY KEY (flag)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The ledger: at every moment stock.num = SUM(stock_flow.num) for each goods.
CREATE TABLE IF NOT EXISTS stock_flow (
    flag       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    goods_id   BIGINT      NOT NULL,
    kind       ENUM('restock','deduct','restore') NOT NULL,
    num        BIGINT      NOT NULL COMMENT 'signed: restock and restore above zero, deduct below',
    created_at DATETIME(6) NOT NULL,
    -- no second deduction, restore or restock under one flag; and the confirmation's poll: WHERE flag IN (…)
    PRIMARY KEY (flag, goods_id, kind)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE IF EXISTS stock_flow;
DROP TABLE IF EXISTS operations;
DROP TABLE IF EXISTS stock;
