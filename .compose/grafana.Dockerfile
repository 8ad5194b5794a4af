FROM grafana/grafana:12.1.0
# 472 is its user.
COPY --chown=472 observe/grafana/datasources.yml /etc/grafana/provisioning/datasources/orderstock.yml
COPY --chown=472 observe/grafana/dashboards.yml /etc/grafana/provisioning/dashboards/orderstock.yml
COPY --chown=472 observe/grafana/dashboard.json /etc/orderstock/
