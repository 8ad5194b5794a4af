FROM haproxy:3.2
COPY --chown=haproxy haproxy.cfg /usr/local/etc/haproxy/
