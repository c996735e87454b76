-- append puts an event behind the others of its stream, once.
--
-- KEYS: 1 events, 2 the entry of this event.
-- ARGV: 1 whether it is put there when there are none (1 or 0), 2 events to keep, 3 ms to keep them, 4 ms to remember the entry, then names and values.
-- Returns: OK and the entry, '' when it was not put there.
local events, entry = KEYS[1], KEYS[2]
local was = redis.call('GET', entry)
if was and #redis.call('XRANGE', events, was, was) == 1 then return {'OK', was} end
if ARGV[1] == '0' and redis.call('EXISTS', events) == 0 then return {'OK', ''} end
local fields = {}
for i = 5, #ARGV do fields[#fields + 1] = ARGV[i] end
local id = redis.call('XADD', events, 'MAXLEN', '~', ARGV[2], '*', unpack(fields))
-- Only who follows keeps them for longer, or is about to: by a share of which others are told.
if ARGV[1] == '1' or redis.call('PTTL', events) < 0 then redis.call('PEXPIRE', events, ARGV[3]) end
redis.call('SET', entry, id, 'PX', ARGV[4])
return {'OK', id}
