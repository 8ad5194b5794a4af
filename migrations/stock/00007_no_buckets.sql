-- +goose Up

-- No strategy puts pieces into buckets any more. Both statements are one transaction; 00008 drops the table.
UPDATE stock s JOIN (SELECT goods_id, SUM(num) AS num FROM stock_buckets GROUP BY goods_id) b ON b.goods_id = s.goods_id
    SET s.num = s.num + b.num;
DELETE FROM stock_buckets;

-- +goose Down
SELECT 1;
