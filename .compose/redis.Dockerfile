# Owned by the user who runs them, the scripts may be readable by their owner alone, as in a checkout under umask 077.
FROM redis:8.0
COPY --chown=redis redis.sh sentinel.sh /
