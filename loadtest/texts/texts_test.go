package texts_test

import (
	"testing"

	"orderstock/loadtest/texts"
)

func TestSay(t *testing.T) {
	for english, want := range map[string]string{
		"the sale begins":                                    "开始销售",
		"sold 1,609 of 300":                                  "库存 300 件，卖出 1,609 件",
		"hears: rejected":                                    "得到应答：已拒绝",           // a value is a text
		"hears: nothing in time":                             "超时，没有得到应答",          // before a pattern
		"1 order of 12 hang":                                 "1 order of 12 hang", // not known
		"takes the lock of product 52, token 41":             "拿到商品 52 的锁，token 41",
		"gives the lock of product 52 back":                  "释放商品 52 的锁",
		"takes the locks of product 2, product 3, product 4": "拿到商品 2、商品 3、商品 4 的锁",
		"sold 87 of 300 (stopped by hand after 212 of 800 orders; play it to its end)": "库存 300 件，卖出 87 件" +
			"（发出 800 个订单中的 212 个后被手动停止；请演示到结束）",
		"11 orders of 12 had no outcome in time: a wake-up was missed, and the queue stood still": "12 个订单中有 11 个订单" +
			"没有及时得到结果：有人错过了唤醒，队列停住了",
		"each of 200 orders is sold or refused, and each of 445 pieces has a buyer": "200 个订单都已成交或被拒绝，" +
			"卖出的 445 件都有买家",
		"sold 191 of 400, and the stock counts the other 209":          "库存 400 件，卖出 191 件，其余 209 件都在",
		"order no. 17 is REJECTED, and 1 piece is gone from the stock": "17 号订单为 REJECTED，而 1 件已从库存扣减",
		"33 pieces are gone, and the order fails":                      "扣走了 33 件，订单却失败了",
		"sorted by 7ffe in its name: before the holder's 9a3f":         "按节点名里的 7ffe 排序，排在持有者的 9a3f 之前",
		"it looks again, and order no. 13 is before it":                "它再看一次，13 号订单还排在它前面",
		"orders no. 3 and no. 1 took their pieces":                     "3 号和 1 号订单都扣减成功",
		"stock-1, order no. 5":                                         "stock-1，5 号订单",
		"order no. 9 is REJECTED, the ledger has no line, and 1 piece is gone": "9 号订单为 REJECTED，" +
			"流水表里没有记录，而库存少了 1 件",
		"59 overwrites 60: the sale of order no. 2 is forgotten": "59 覆盖了 60：2 号订单的这笔销售丢失了",
		"stock-1, 8 orders together":                             "stock-1，8 个订单一起",
		"12 orders of 120 hang for ever: a process died, and nobody looks for its orders": "120 个订单中有 12 个订单永远悬着：" +
			"进程崩溃，没有人再查它的订单",
	} {
		if got := texts.Chinese().Say(english); got != want {
			t.Errorf("%q is %q, want %q", english, got, want)
		}
		if got := texts.English().Say(english); got != english {
			t.Errorf("%q is %q in English", english, got)
		}
	}
}

// TestDocument: the texts are in the language; code, links, names and spaces stay.
func TestDocument(t *testing.T) {
	const english = "# A. The lock is released before the commit\n\n[中文](a.zh-CN.md)\n\n" +
		"```\ncommit\nunlock(goods)          // in a finally, too early\n  ☠ the process dies here\n```\n\n" +
		"**Broken: sold 4 of 3: 1 more than there were.**\n\n" +
		"| | buyer, order …7 | stock-2 |\n| --: | --- | --- |\n" +
		"| 0.0 ms | hears: done ──► | ◄── takes the lock<br>✗ dies |\n\n" +
		"- No reconciler (`no-reconciler`)\n\nwhat nobody has translated"
	const chinese = "# A. 提交之前就释放了锁\n\n[English](a.md)\n\n" +
		"```\ncommit\nunlock(goods)          // 在 finally 里，太早\n  ☠ 进程在这里崩溃\n```\n\n" +
		"**错误版：库存 3 件，卖出 4 件：超卖 1 件。**\n\n" +
		"| | 买家，订单 …7 | stock-2 |\n| --: | --- | --- |\n| 0.0 ms | 得到应答：已完成 ──► | ◄── 拿到锁<br>✗ 崩溃 |\n\n" +
		"- 没有对账程序 (`no-reconciler`)\n\nwhat nobody has translated"
	for l, want := range map[*texts.Language]string{texts.English(): english, texts.Chinese(): chinese} {
		if got := l.Document(english); got != want {
			t.Errorf("in %s:\n%s\nwant\n%s", l.Tag, got, want)
		}
	}
	if en, zh := texts.English().File("x/a.md"), texts.Chinese().File("x/a.md"); en != "x/a.md" || zh != "x/a.zh-CN.md" {
		t.Errorf("the files are %s and %s", en, zh)
	}
}
