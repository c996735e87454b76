-- fits tells where the events of a project are, and whether one of them is still what it was: an event that is gone without having been
-- trimmed says that Redis went back to before it.
--
-- KEYS: 1 epoch, 2 events.
-- ARGV: 1 epoch of the mark, or nothing for no mark, 2 its entry, or nothing for the epoch alone.
-- Returns: OK, epoch, last entry, whether the mark fits (1 or 0); NOTREADY.
local epoch, events = KEYS[1], KEYS[2]
local named = redis.call('GET', epoch)
if not named then return {'NOTREADY'} end
local last = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
local reply = {'OK', named, last and last[1] or '0-0', 1}
if ARGV[1] == '' then return reply end
if ARGV[1] ~= named then
  reply[4] = 0
elseif ARGV[2] ~= '' and ARGV[2] ~= '0-0' and #redis.call('XRANGE', events, ARGV[2], ARGV[2]) == 0 then
  local oldest = redis.call('XRANGE', events, '-', '+', 'COUNT', 1)[1]
  local function parts(id)
    local ms, seq = string.match(id, '^(%d+)-(%d+)$')
    return tonumber(ms), tonumber(seq)
  end
  local ms, seq = parts(ARGV[2])
  local oldMs, oldSeq = 0, 0
  if oldest then oldMs, oldSeq = parts(oldest[1]) end
  if not oldest or oldMs < ms or oldMs == ms and oldSeq < seq then reply[4] = 0 end
end
return reply
