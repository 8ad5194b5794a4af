# A member of a group. The settings are those of the groups that tests start.
FROM mysql:9.7
COPY --chown=mysql pkg/servers/group.cnf /etc/mysql/conf.d/
