package prededuct

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"orderstock/pkg/batch"
	"orderstock/pkg/redisdb"
	"orderstock/stock-service/stock"
)

var (
	//go:embed take.lua
	takeText string
	//go:embed claim.lua
	claimText string
	//go:embed settle.lua
	settleText string

	takeScript   = redis.NewScript(takeText)
	claimScript  = redis.NewScript(claimText)
	settleScript = redis.NewScript(settleText)
)

// answer is the result of take.lua.
type answer string

const (
	taken    answer = "taken"
	asked    answer = "ask"
	unknown  answer = "unknown"
	repeated answer = "repeat"
	conflict answer = "conflict"
	full     answer = "full"
)

const (
	// remember is how long Redis remembers a flag.
	remember = 30 * time.Minute
	// maxLog bounds the operations that are not in the ledger yet.
	maxLog = 20_000
	// writerTerm is how long a process stays the writer after its last claim. It is longer than writeLimit.
	writerTerm = 5 * time.Second
	// redisLimit bounds a round trip.
	redisLimit = time.Second
)

// log is the levels and the log in Redis.
type log struct {
	client redisdb.Client
	prefix string
	writer string // this process
	takes  *batch.Group[take, answer]
}

// take is a request, and whether its products are known to exist.
type take struct {
	stock.Request
	exist bool
}

// entry is a request in the log.
type entry struct {
	id string
	stock.Request
}

func newLog(where redisdb.Server, prefix, writer string) *log {
	l := &log{client: redisdb.Open(where, redisLimit), prefix: prefix, writer: writer}
	l.takes = batch.Func(l.take, batch.WithTimeout(redisLimit))
	return l
}

// take runs take.lua for each of the requests, in one pipeline.
func (l *log) take(ctx context.Context, takes []take) ([]answer, error) {
	replies, err := l.pipeline(ctx, takes)
	if redis.HasErrorPrefix(err, "NOSCRIPT") { // none was executed
		if err := takeScript.Load(ctx, l.client).Err(); err != nil {
			return nil, fmt.Errorf("load script: %w", err)
		}
		replies, err = l.pipeline(ctx, takes)
	}
	if err != nil {
		return nil, fmt.Errorf("take from redis: %w", err)
	}
	answers := make([]answer, len(replies))
	for i, reply := range replies {
		text, err := reply.(*redis.Cmd).Text()
		if err != nil {
			return nil, fmt.Errorf("take from redis: %w", err)
		}
		answers[i] = answer(text)
	}
	return answers, nil
}

func (l *log) pipeline(ctx context.Context, takes []take) ([]redis.Cmder, error) {
	return l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, t := range takes {
			exist := "0"
			if t.exist {
				exist = "1"
			}
			takeScript.EvalSha(ctx, p, []string{l.prefix}, t.Flag, stock.EncodeItems(t.Items),
				int(remember.Seconds()), maxLog, exist)
		}
		return nil
	})
}

// claim returns the oldest entries, none if another process is the writer.
func (l *log) claim(ctx context.Context, most int) ([]entry, error) {
	ctx, cancel := context.WithTimeout(ctx, redisLimit)
	defer cancel()
	rows, err := claimScript.Run(ctx, l.client, []string{l.prefix}, l.writer, writerTerm.Milliseconds(), most).Slice()
	if err != nil {
		return nil, fmt.Errorf("claim log: %w", err)
	}
	entries := make([]entry, len(rows))
	for i, row := range rows {
		if entries[i], err = readEntry(row); err != nil {
			return nil, fmt.Errorf("claim log: %w", err)
		}
	}
	return entries, nil
}

// readEntry reads a row of XRANGE: an id, and the fields "flag", flag, "items", items.
func readEntry(row any) (entry, error) {
	if pair, ok := row.([]any); ok && len(pair) == 2 {
		id, ok := pair[0].(string)
		fields, ok2 := pair[1].([]any)
		if ok && ok2 && len(fields) == 4 {
			items, err := stock.DecodeItems(fmt.Sprint(fields[3]))
			return entry{id, stock.Request{Flag: fmt.Sprint(fields[1]), Items: items}}, err
		}
	}
	return entry{}, fmt.Errorf("malformed entry %v", row)
}

// settle removes entries that the ledger has and sets the levels in Redis to the ledger's.
func (l *log) settle(ctx context.Context, ids []string, goods []stock.Goods) error {
	ctx, cancel := context.WithTimeout(ctx, redisLimit)
	defer cancel()
	args := []any{l.writer, len(ids)}
	for _, id := range ids {
		args = append(args, id)
	}
	for _, g := range goods {
		args = append(args, g.ID, g.Num)
	}
	if err := settleScript.Run(ctx, l.client, []string{l.prefix}, args...).Err(); err != nil {
		return fmt.Errorf("settle log: %w", err)
	}
	return nil
}

// len returns the number of operations that are not in the ledger yet.
func (l *log) len(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, redisLimit)
	defer cancel()
	n, err := l.client.XLen(ctx, l.prefix+"log").Result()
	if err != nil {
		return 0, fmt.Errorf("read log: %w", err)
	}
	return n, nil
}

// close lets another process be the writer at once, and closes the connections.
func (l *log) close(ctx context.Context) error {
	l.takes.Close()
	ctx, cancel := context.WithTimeout(ctx, redisLimit)
	defer cancel()
	writer, err := l.client.Get(ctx, l.prefix+"writer").Result()
	if err == nil && writer == l.writer {
		err = l.client.Del(ctx, l.prefix+"writer").Err()
	}
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	if err = errors.Join(err, l.client.Close()); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

// newWriter names a process by its start.
func newWriter() string {
	return strings.ToLower(strconv.FormatInt(time.Now().UnixNano(), 36))
}
