#!/bin/sh
# Starts a Sentinel that watches the Redis primary "flags", which is redis:6379 at first. A stranger may do nothing but
# PING; the services and the console, under their names in Redis, may ask which server is the primary. The passwords are in files of
# /run/secrets.
set -eu
cd /run/secrets
quoted() { sed 's/[\\"]/\\&/g' "$1"; } # for a string in double quotes
order=$(quoted order)
stock=$(quoted stock)
console=$(quoted console)
cluster=$(quoted cluster)
cd /tmp
ask='&* +ping +subscribe +psubscribe +unsubscribe +punsubscribe +sentinel|get-master-addr-by-name +sentinel|sentinels +sentinel|replicas'
[ -f sentinel.conf ] || cat >sentinel.conf <<END
protected-mode no
user default on nopass resetkeys resetchannels -@all +ping
user order on ">$order" $ask
user stock on ">$stock" $ask
user console on ">$console" $ask
user sentinel on ">$cluster" ~* &* +@all
sentinel sentinel-user sentinel
sentinel sentinel-pass "$cluster"
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel monitor flags redis 6379 2
sentinel auth-user flags sentinel
sentinel auth-pass flags "$cluster"
sentinel down-after-milliseconds flags 2000
sentinel failover-timeout flags 10000
END
exec redis-sentinel sentinel.conf
