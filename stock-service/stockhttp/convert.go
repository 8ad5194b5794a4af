package stockhttp

import (
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/stock"
)

func operationBody(op stock.Operation) stockapi.Operation {
	return stockapi.Operation{
		Flag: op.Flag, State: op.State, Reason: op.Reason, Items: stockapi.ItemsOf(op.Items),
		FencingToken: op.Token.String(), Repeat: op.Repeat,
	}
}

func flowBody(f stock.Flow) stockapi.Flow {
	return stockapi.Flow{
		Flag: f.Flag, GoodsID: operation.FormatGoodsID(f.GoodsID), Kind: f.Kind, Num: f.Num, CreatedAt: f.CreatedAt,
	}
}

func goodsBody(g stock.Goods) stockapi.Goods {
	return stockapi.Goods{GoodsID: operation.FormatGoodsID(g.ID), Name: g.Name, Price: g.Price, Num: g.Num}
}
