#!/bin/sh
# Install Halo Scheduler from this folder: for you (~/.local), or for everybody as root (/usr/local).
#   ./install.sh             install, or replace an earlier version
#   ./install.sh --remove    remove it; your jobs and settings stay
# PREFIX=/some/where installs elsewhere.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${PREFIX:-}" ]; then
    PREFIX=$HOME/.local
    [ "$(id -u)" -ne 0 ] || PREFIX=/usr/local
fi
program=$PREFIX/lib/halo-scheduler
list=$program/installed-files

remove() {
    [ -e "$list" ] || return 0
    while IFS= read -r file; do rm -f "$PREFIX/$file"; done <"$list"
    rm -rf "$program"
}

remove
if [ "${1:-}" = --remove ]; then
    echo "Halo Scheduler was removed from $PREFIX; your data is still in ~/.local/share/halo-scheduler."
    exit 0
fi
mkdir -p "$PREFIX/bin" "$PREFIX/lib"
cp -R "$here/halo-scheduler" "$program"
(cd "$here/usr" && find . -type f) | sed 's|^\./||' | while IFS= read -r file; do
    mkdir -p "$PREFIX/$(dirname "$file")"
    cp "$here/usr/$file" "$PREFIX/$file"
    echo "$file"
done >"$list"
unit=$PREFIX/lib/systemd/user/halo-scheduler.service
sed "s|^ExecStart=.*|ExecStart=$program/halo daemon|" "$unit" >"$unit.new" && mv "$unit.new" "$unit"
ln -sf "$program/halo" "$PREFIX/bin/halo"
echo bin/halo >>"$list"
"$PREFIX/bin/halo" --version
echo "Installed in $PREFIX. Open it with: $PREFIX/bin/halo"
