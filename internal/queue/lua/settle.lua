-- settle takes a message off its stream: it was handled, or becomes a dead letter.
--
-- KEYS: 1 messages, 2 entries of messages, 3 dead letters.
-- ARGV: 1 group, 2 entry, 3 why it is dead, or nothing, 4... its fields and values.
-- Returns: OK and whether it was still there (1 or 0).
local messages, sent, dead = KEYS[1], KEYS[2], KEYS[3]
if redis.call('EXISTS', messages) == 0 then return {'OK', 0} end
local there = redis.call('XDEL', messages, ARGV[2])
redis.pcall('XACK', messages, ARGV[1], ARGV[2]) -- the group may be gone
local name = nameOf({unpack(ARGV, 4)})
if redis.call('HGET', sent, name) == ARGV[2] then redis.call('HDEL', sent, name) end
if there == 1 and ARGV[3] ~= '' then
  local fields = {'reason', ARGV[3], 'died', whole(clock())}
  for i = 4, #ARGV do fields[#fields + 1] = ARGV[i] end
  redis.call('XADD', dead, 'MAXLEN', '~', 10000, '*', unpack(fields))
end
return {'OK', there}
