#!/bin/sh
# Starts a Sentinel that watches the Redis server "flags" at first at redis:6379. A stranger may do nothing but PING;
# the services, under the names that they have in Redis, may ask which server it is.
set -eu
cd /tmp
[ -f sentinel.conf ] || cat >sentinel.conf <<END
protected-mode no
user default on nopass resetkeys resetchannels -@all +ping
user order on >$ORDER_PASSWORD &* +ping +subscribe +psubscribe +unsubscribe +punsubscribe +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|replicas
user stock on >$STOCK_PASSWORD &* +ping +subscribe +psubscribe +unsubscribe +punsubscribe +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|replicas
user sentinel on >$CLUSTER_PASSWORD ~* &* +@all
sentinel sentinel-user sentinel
sentinel sentinel-pass $CLUSTER_PASSWORD
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel monitor flags redis 6379 2
sentinel auth-user flags sentinel
sentinel auth-pass flags $CLUSTER_PASSWORD
sentinel down-after-milliseconds flags 2000
sentinel failover-timeout flags 10000
END
exec redis-sentinel sentinel.conf
