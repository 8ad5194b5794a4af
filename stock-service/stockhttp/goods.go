package stockhttp

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
	"orderstock/pkg/problem"
	"orderstock/pkg/request"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/stock"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// stock is GET /v1/stock?goods_id=a&goods_id=b, or a page: ?after=&limit=.
func (h *handlers) stock(c *gin.Context) error {
	after, limit, err := page(c)
	if err != nil {
		return err
	}
	if named := c.QueryArray("goods_id"); len(named) > 0 {
		return h.namedGoods(c, named)
	}
	goods, err := h.service.GoodsAfter(c.Request.Context(), after, limit)
	if err != nil {
		return err
	}
	answer := stockapi.StockResponse{Goods: goodsBodies(goods)}
	if len(goods) == limit {
		answer.Next = operation.FormatGoodsID(goods[limit-1].ID)
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

func (h *handlers) namedGoods(c *gin.Context, named []string) error {
	if len(named) > maxFlags {
		return fmt.Errorf("%w: at most %d goods_id", stock.ErrInvalidPage, maxFlags)
	}
	ids := make([]int64, len(named))
	for i, s := range named {
		id, err := operation.ParseGoodsID(s)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	goods, err := h.service.Goods(c.Request.Context(), ids)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, stockapi.StockResponse{Goods: goodsBodies(goods)})
	return nil
}

// goods is GET /v1/stock/{goods_id}.
func (h *handlers) goods(c *gin.Context) error {
	id, err := operation.ParseGoodsID(c.Param("goods_id"))
	if err != nil {
		return err
	}
	goods, err := h.service.Goods(c.Request.Context(), []int64{id})
	if err != nil {
		return err
	}
	if len(goods) == 0 {
		return problem.New(http.StatusNotFound, string(stockapi.CodeUnknownGoods), "no product %d", id)
	}
	c.JSON(http.StatusOK, goodsBody(goods[0]))
	return nil
}

// restock is POST /v1/stock/{goods_id}/restock.
func (h *handlers) restock(c *gin.Context) error {
	id, err := operation.ParseGoodsID(c.Param("goods_id"))
	if err != nil {
		return err
	}
	var body stockapi.RestockRequest
	if err := httpapi.Decode(c, &body); err != nil {
		return err
	}
	request.AddAttrs(c.Request.Context(), "flag", body.Flag, "goods_id", id)
	goods, err := h.service.Restock(c.Request.Context(), stock.Restock{
		Flag: body.Flag, GoodsID: id, Num: body.Num, Name: body.Name, Price: body.Price,
	})
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, goodsBody(goods))
	return nil
}

func page(c *gin.Context) (after int64, limit int, err error) {
	limit = defaultPage
	if s := c.Query("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 || limit > maxPage {
			return 0, 0, fmt.Errorf("%w: limit is a number from 1 to %d", stock.ErrInvalidPage, maxPage)
		}
	}
	if s := c.Query("after"); s != "" {
		if after, err = operation.ParseGoodsID(s); err != nil {
			return 0, 0, err
		}
	}
	return after, limit, nil
}

func goodsBodies(goods []stock.Goods) []stockapi.Goods {
	bodies := make([]stockapi.Goods, len(goods))
	for i, g := range goods {
		bodies[i] = goodsBody(g)
	}
	return bodies
}
