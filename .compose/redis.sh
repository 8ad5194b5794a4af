#!/bin/sh
# Starts a Redis server with the necessary rights for each user, and only PING for strangers:
#
#   order     sets operation flags, and counts the requests of clients
#   stock     takes the flags, and owns the keys of the strategy redis-lock
#   console   checks whether a flag is set
#   replica   reads everything, for a second server (.compose/cluster.yml)
#   sentinel  makes one of the two servers the primary
#
# Nothing is kept on a disk: flags are hints, and counters live for seconds. A server that reads an append-only file
# does so as the user default, who may only PING here: it would drop each transaction, execute each plain command,
# and leave counters that never expire.
#
# Arguments go to redis-server. The passwords are in the files of the folder SECRETS. The server gets them on
# its standard input, as anybody on the machine can read a command line.
set -eu
cd "${SECRETS:-/run/secrets}"
quoted() { sed 's/[\\"]/\\&/g' "$1"; } # for a string in double quotes
order=$(quoted order)
stock=$(quoted stock)
console=$(quoted console)
cluster=$(quoted cluster)
cd "$OLDPWD"
exec redis-server "$@" - <<END
dir /tmp
appendonly no
save ""
protected-mode no
user default on nopass resetkeys resetchannels -@all +ping
user order on ">$order" ~opflag:* +set +ping "(~ratelimit:* +evalsha +script|load +incrby +get +pexpire +pttl)"
user stock on ">$stock" ~opflag:* +del +ping "(~stocklock:* +@read +@write +@scripting -@dangerous)"
user console on ">$console" ~opflag:* +exists
user replica on ">$cluster" +psync +replconf +ping
user sentinel on ">$cluster" &* +ping +info +role +subscribe +publish +multi +exec +slaveof +config|rewrite +client|setname +client|kill +script|kill
masteruser replica
masterauth "$cluster"
END
