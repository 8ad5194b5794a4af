-- Returns the oldest entries of the log to the one process that writes them, or none to any other.
-- KEYS[1] prefix; ARGV: writer, milliseconds for which it stays the writer, most entries.
local p = KEYS[1]
local writer = redis.call('GET', p .. 'writer')
if writer and writer ~= ARGV[1] then
  return {}
end
redis.call('SET', p .. 'writer', ARGV[1], 'PX', ARGV[2])
return redis.call('XRANGE', p .. 'log', '-', '+', 'COUNT', ARGV[3])
