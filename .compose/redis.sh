#!/bin/sh
# Starts a Redis server on which each user may do what it must, and a stranger nothing but PING:
#
#   order     sets operation flags, and counts the requests of clients
#   stock     takes the flags; what the strategies redis-lock and redis-prededuct keep is its own
#   console   looks whether a flag is there
#   replica   reads everything, for a second server (.compose/cluster.yml)
#   sentinel  makes one of two the server
#
# Arguments go to redis-server. The passwords come from the environment.
set -eu
exec redis-server --appendonly yes --save '' --protected-mode no \
  --user default on nopass resetkeys resetchannels -@all +ping \
  --user order on ">$ORDER_PASSWORD" '~opflag:*' +set +ping \
  '(~ratelimit:* +evalsha +script|load +incrby +get +pexpire +pttl)' \
  --user stock on ">$STOCK_PASSWORD" '~opflag:*' +del +ping \
  '(~stocklock:* ~prededuct:* +@read +@write +@scripting -@dangerous)' \
  --user console on ">$CONSOLE_PASSWORD" '~opflag:*' +exists \
  --user replica on ">$CLUSTER_PASSWORD" +psync +replconf +ping \
  --user sentinel on ">$CLUSTER_PASSWORD" '&*' +ping +info +role +subscribe +publish +multi +exec +slaveof \
  '+config|rewrite' '+client|setname' '+client|kill' '+script|kill' \
  --masteruser replica --masterauth "$CLUSTER_PASSWORD" "$@"
