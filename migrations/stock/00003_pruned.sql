-- +goose Up

-- A pruned row, under the empty flag, stands for all rows of a goods' old orders that were deleted: their sum.
ALTER TABLE stock_flow MODIFY kind ENUM('restock','deduct','restore','pruned') NOT NULL;

-- +goose Down
ALTER TABLE stock_flow MODIFY kind ENUM('restock','deduct','restore') NOT NULL;
