-- words reads one set of a project. Only sets that have one score, 0, are asked by beginnings: others have no order by text.
--
-- KEYS: 1 epoch, 2 the set (a sorted set, or a list).
-- ARGV: 1 what to read: top, range or list, 2 how many, 3 and 4 the bounds of range.
-- Returns: OK, then a list of members (with scores for top, the most used first); NOTREADY.
local epoch, set = KEYS[1], KEYS[2]
if redis.call('EXISTS', epoch) == 0 then return {'NOTREADY'} end
if ARGV[1] == 'top' then return {'OK', redis.call('ZREVRANGE', set, 0, ARGV[2] - 1, 'WITHSCORES')} end
if ARGV[1] == 'range' then return {'OK', redis.call('ZRANGEBYLEX', set, ARGV[3], ARGV[4], 'LIMIT', 0, ARGV[2])} end
return {'OK', redis.call('LRANGE', set, 0, ARGV[2] - 1)}
