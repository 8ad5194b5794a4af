-- Removes entries that are in the ledger from the log, and sets the levels to the ledger's, less the pieces still in the
-- log. KEYS[1] prefix; ARGV: writer, number of entries, their ids, then for each product its id and its level.
local p, n = KEYS[1], tonumber(ARGV[2])
for i = 3, 2 + n do
  local entry = redis.call('XRANGE', p .. 'log', ARGV[i], ARGV[i])[1]
  if entry then
    redis.call('XDEL', p .. 'log', ARGV[i])
    for goods, num in string.gmatch(entry[2][4], '(%d+):(%d+)') do
      if redis.call('DECRBY', p .. 'pending:' .. goods, num) <= 0 then
        redis.call('DEL', p .. 'pending:' .. goods)
      end
    end
  end
end
-- A writer that was paused has levels of an earlier time.
if redis.call('GET', p .. 'writer') == ARGV[1] then
  for i = 3 + n, #ARGV, 2 do
    local pending = tonumber(redis.call('GET', p .. 'pending:' .. ARGV[i]) or '0')
    redis.call('SET', p .. 'level:' .. ARGV[i], string.format('%.0f', tonumber(ARGV[i + 1]) - pending))
  end
end
return 'OK'
