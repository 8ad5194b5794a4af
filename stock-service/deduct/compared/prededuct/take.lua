-- Takes the items of an operation from the levels in Redis and writes the operation into the log.
-- KEYS[1] prefix; ARGV: flag, items "goods:num,goods:num", seconds to remember the flag, most entries of the log,
-- "1" if products without a level are known to exist.
-- Returns taken: the levels were high enough. ask: the ledger decides, in the order of the log. unknown: nothing was
-- done, as a product has no level here. repeat, conflict: the flag was here before. full: nothing was done.
local p, flag, items = KEYS[1], ARGV[1], ARGV[2]
local known = redis.call('GET', p .. 'op:' .. flag)
if known then
  return known == items and 'repeat' or 'conflict'
end
if redis.call('XLEN', p .. 'log') >= tonumber(ARGV[4]) then
  return 'full'
end
local answer = 'taken'
for goods, num in string.gmatch(items, '(%d+):(%d+)') do
  local level = redis.call('GET', p .. 'level:' .. goods)
  if not level then
    if ARGV[5] ~= '1' then
      return 'unknown'
    end
    answer = 'ask'
  elseif tonumber(level) < tonumber(num) then
    answer = 'ask'
  end
end
-- An operation that the ledger decides is reserved as well, so that later ones do not take its pieces.
for goods, num in string.gmatch(items, '(%d+):(%d+)') do
  if redis.call('EXISTS', p .. 'level:' .. goods) == 1 then
    redis.call('DECRBY', p .. 'level:' .. goods, num)
  end
  redis.call('INCRBY', p .. 'pending:' .. goods, num)
end
redis.call('SET', p .. 'op:' .. flag, items, 'EX', ARGV[3])
redis.call('XADD', p .. 'log', '*', 'flag', flag, 'items', items)
return answer
