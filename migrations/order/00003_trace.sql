-- +goose Up

-- The reconciler goes on with the trace in which the order was placed.
ALTER TABLE orders ADD COLUMN trace VARCHAR(55) CHARACTER SET ascii COLLATE ascii_bin NULL COMMENT 'W3C traceparent of the request that placed it, if it was traced';

-- +goose Down
ALTER TABLE orders DROP COLUMN trace;
