-- +goose Up

-- The reconciler goes on with the trace in which the order was placed. MySQL cannot add a column only if there is none,
-- and a migration that was killed half-way runs again.
SET @add = IF((SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE()
        AND table_name = 'orders' AND column_name = 'trace') > 0, 'DO 0',
    'ALTER TABLE orders ADD COLUMN trace VARCHAR(55) CHARACTER SET ascii COLLATE ascii_bin NULL
        COMMENT ''W3C traceparent of the request that placed it, if it was traced''');
PREPARE add_trace FROM @add;
EXECUTE add_trace;
DEALLOCATE PREPARE add_trace;

-- +goose Down
ALTER TABLE orders DROP COLUMN trace;
