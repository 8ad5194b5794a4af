# IMAGE WORK DIR: copies mysqld out of a Docker image to WORK, with the libraries and
# files that it needs, and a program WORK/mysqld that runs it from DIR, where WORK will
# be moved. So it runs on a system with other libraries than the image's.
set -euo pipefail
image=$1 work=$2 dir=$3
docker run --rm -i --entrypoint bash "$image" -s <<'INSIDE' | tar -C "$work" -x
set -eo pipefail
server=$(command -v mysqld)
plugins=$(find /usr -name group_replication.so | head -n 1)
messages=$(find /usr/share -path '*english/errmsg.sys' | head -n 1)
share=${messages%/english/errmsg.sys}
ldd "$server" "$plugins" | grep -o '/[^ :]*' | sort -u >/tmp/files
printf '%s\n' "$server" "$plugins" "$(dirname "$plugins")/component_reference_cache.so" "$share/english" "$share/charsets" >>/tmp/files
tar -C / -chf - --transform 's,^/*,,' -P $(cat /tmp/files)
INSIDE
cd "$work"
loader=$(find . -name 'ld-linux*.so*' | head -n 1)
server=$(find . -path '*bin/mysqld' | head -n 1)
plugins=$(dirname "$(find . -name group_replication.so | head -n 1)")
share=$(dirname "$(dirname "$(find . -path '*english/errmsg.sys' | head -n 1)")")
libraries=$(find . -name '*.so*' ! -path "$plugins/*" -printf '%h\n' | sort -u | sed "s,^\.,$dir," | paste -sd:)
cat >mysqld <<RUN
#!/bin/sh
exec $dir/${loader#./} --library-path $libraries $dir/${server#./} "\$@" --basedir=$dir/usr \\
  --lc-messages-dir=$dir/${share#./} --character-sets-dir=$dir/${share#./}/charsets --plugin-dir=$dir/${plugins#./}
RUN
chmod +x mysqld
