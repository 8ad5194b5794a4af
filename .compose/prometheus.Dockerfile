FROM prom/prometheus:v3.5.3
COPY --chown=nobody observe/prometheus.yml observe/rules.yml /etc/prometheus/
