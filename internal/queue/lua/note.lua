-- note appends an event that changes nothing that is counted.
--
-- KEYS: 1 epoch, 2 applied, 3 metadata, 4 queue, 5 events.
-- ARGV: 1 id, 2 the event as JSON, 3 events to keep, 4 ms to remember ids.
-- Returns: OK and whether the id came for the first time (1 or 0); NOTREADY.
local epoch, applied, metadata, queue, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
local now = clock()
if not once(applied, ARGV[1], now, tonumber(ARGV[4])) then return {'OK', 0} end
local e = cjson.decode(ARGV[2])
if e.at == '' then e.at = whole(now) end
tell(events, metadata, queue, ARGV[3], e)
return {'OK', 1}
