-- read returns the events after a cursor. The entry of the cursor has to be there still: otherwise events after it may have
-- been trimmed, or lost with a failed server, and nobody could tell.
--
-- KEYS: 1 epoch, 2 events.
-- ARGV: 1 epoch of the cursor, 2 entry of the cursor, 3 how many.
-- Returns: OK, then the entries as XRANGE returns them; NOTREADY or GAP.
local epoch, events = KEYS[1], KEYS[2]
local named = redis.call('GET', epoch)
if not named then return {'NOTREADY'} end
if named ~= ARGV[1] or #redis.call('XRANGE', events, ARGV[2], ARGV[2]) == 0 then return {'GAP'} end
return {'OK', redis.call('XRANGE', events, '(' .. ARGV[2], '+', 'COUNT', ARGV[3])}
