package stockhttp

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// stock is GET /v1/stock?goods_id=a&goods_id=b, or a page: ?after=&limit=.
func (h *handlers) stock(c *gin.Context) error {
	named, after, limit, err := page(c)
	if err != nil {
		return err
	}
	if len(named) > 0 {
		return h.namedGoods(c, named)
	}
	goods, err := h.service.GoodsAfter(c.Request.Context(), after, limit+1) // one more shows the end
	if err != nil {
		return err
	}
	answer := stockapi.StockResponse{Goods: goods}
	if len(goods) > limit {
		answer.Goods = goods[:limit]
		answer.Next = operation.FormatGoodsID(goods[limit-1].GoodsID)
	}
	c.JSON(http.StatusOK, answer)
	return nil
}

func (h *handlers) namedGoods(c *gin.Context, named []string) error {
	if len(named) > maxFlags {
		return fmt.Errorf("%w: at most %d goods_id", operation.ErrInvalidPage, maxFlags)
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
	c.JSON(http.StatusOK, stockapi.StockResponse{Goods: goods})
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
		return httpapi.NewProblem(http.StatusNotFound, operation.ErrUnknownGoods.Name(), "no product %d", id)
	}
	c.JSON(http.StatusOK, goods[0])
	return nil
}

// restock is POST /v1/stock/{goods_id}/restock.
func (h *handlers) restock(c *gin.Context) error {
	id, err := operation.ParseGoodsID(c.Param("goods_id"))
	if err != nil {
		return err
	}
	var body operation.Restock
	if err := httpapi.Decode(c, &body); err != nil {
		return err
	}
	body.GoodsID = id
	observe.AddAttrs(c.Request.Context(), "flag", body.Flag, "goods_id", id)
	goods, err := h.service.Restock(c.Request.Context(), body)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, goods)
	return nil
}

// page reads the query of GET /v1/stock: product ids, or the start and the size of a page.
func page(c *gin.Context) (named []string, after int64, limit int, err error) {
	query, err := httpapi.Query(c)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%w: %w", operation.ErrInvalidPage, err)
	}
	limit = defaultPage
	for name, values := range query {
		value := values[0]
		switch {
		case name == "goods_id":
			named = values
		case len(values) > 1:
			err = fmt.Errorf("%w: %s is given twice", operation.ErrInvalidPage, name)
		case name == "limit" && value != "":
			if limit, err = httpapi.Limit(value, maxPage); err != nil {
				err = fmt.Errorf("%w: %w", operation.ErrInvalidPage, err)
			}
		case name == "after" && value != "":
			after, err = operation.ParseGoodsID(value)
		case name != "limit" && name != "after":
			err = fmt.Errorf("%w: there is no %q; there are goods_id, after and limit", operation.ErrInvalidPage, name)
		}
		if err != nil {
			return nil, 0, 0, err
		}
	}
	return named, after, limit, nil
}
