-- +goose Up

-- An order's life: PENDING -> CONFIRMED | REJECTED | CANCELLED, CONFIRMED -> CANCELLED.
-- CANCELLING is the durable wish to cancel, written before the stock service is asked,
-- so that a crash between the two is found and finished by the reconciler.
CREATE TABLE IF NOT EXISTS orders (
    id              BIGINT       NOT NULL COMMENT 'snowflake; rises with the time of creation',
    status          ENUM('PENDING','CONFIRMED','REJECTED','CANCELLING','CANCELLED') NOT NULL,
    outcome         ENUM('CONFIRMED','REJECTED','CANCELLED') NULL COMMENT 'the first end that the order reached: what a repeat of its key is told',
    reason          VARCHAR(200) NOT NULL DEFAULT '' COMMENT 'why it was rejected or cancelled',
    idempotency_key VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL,
    body_hash       BINARY(32)   NOT NULL COMMENT 'SHA-256 of the canonical items: tells a repeat of the key from another body under it',
    total           BIGINT       NOT NULL COMMENT 'sum of price times num, in minor units of the currency',
    created_at      DATETIME(6)  NOT NULL,
    updated_at      DATETIME(6)  NOT NULL,
    PRIMARY KEY (id),
    -- one order for each key; and the look-up of a repeat: WHERE idempotency_key = ?
    UNIQUE KEY uq_orders_idempotency_key (idempotency_key),
    -- pages of one status, and the reconciler's scan: WHERE status = ? AND id > ? ORDER BY id
    KEY ix_orders_status_id (status, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS order_items (
    order_id BIGINT NOT NULL,
    goods_id BIGINT NOT NULL,
    num      INT    NOT NULL,
    price    BIGINT NOT NULL COMMENT 'of one piece when ordered, in minor units; the stock service''s word, never the client''s',
    -- one line for each goods of an order; and the items of an order: WHERE order_id = ?
    PRIMARY KEY (order_id, goods_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE IF EXISTS order_items;
DROP TABLE IF EXISTS orders;
