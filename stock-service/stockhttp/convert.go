package stockhttp

import (
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/stock"
)

func itemsFromWire(items []stockapi.Item) ([]stock.Item, error) {
	parsed := make([]stock.Item, len(items))
	for i, item := range items {
		id, err := stock.ParseGoodsID(item.GoodsID)
		if err != nil {
			return nil, err
		}
		parsed[i] = stock.Item{GoodsID: id, Num: item.Num}
	}
	return parsed, nil
}

func operationToWire(op stock.Operation) stockapi.Operation {
	items := make([]stockapi.Item, len(op.Items))
	for i, item := range op.Items {
		items[i] = stockapi.Item{GoodsID: stock.FormatGoodsID(item.GoodsID), Num: item.Num}
	}
	return stockapi.Operation{
		Flag: op.Flag, State: stockapi.State(op.State), Reason: op.Reason, Items: items,
		FencingToken: op.Token.String(), Repeat: op.Repeat,
	}
}

func flowToWire(f stock.Flow) stockapi.Flow {
	return stockapi.Flow{
		Flag: f.Flag, GoodsID: stock.FormatGoodsID(f.GoodsID), Kind: stockapi.Kind(f.Kind), Num: f.Num, CreatedAt: f.CreatedAt,
	}
}

func goodsToWire(g stock.Goods) stockapi.Goods {
	return stockapi.Goods{GoodsID: stock.FormatGoodsID(g.ID), Name: g.Name, Price: g.Price, Num: g.Num}
}
