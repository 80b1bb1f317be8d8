#!/bin/sh
# image.sh FOLDER makes a Debian 12 for test/vm: FOLDER/root.img, FOLDER/vmlinuz and FOLDER/initrd. It needs root,
# mmdebstrap, mke2fs and a mirror of Debian. The system starts guest.sh of its second disk.
set -eu
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree

# A short list of drivers makes the initial file system small, which counts on an emulated processor.
# shellcheck disable=SC2016 # mmdebstrap's shell knows $1
mmdebstrap --variant=minbase --format=directory \
	--include=systemd-sysv,udev,dbus,kmod,procps,linux-image-cloud-amd64,needrestart \
	--aptopt='Acquire::Languages "none"' \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
	--setup-hook='mkdir -p "$1/etc/initramfs-tools/conf.d" && echo MODULES=list > "$1/etc/initramfs-tools/conf.d/list"' \
	--setup-hook='printf "virtio_pci\nvirtio_blk\next4\n" > "$1/etc/initramfs-tools/modules"' \
	bookworm "$tree"

echo berth-vm > "$tree/etc/hostname"
echo 8d6b8f0c4d5e4a1f9c3b2a1908f7e6d5 > "$tree/etc/machine-id"
chroot "$tree" useradd --system berth
cat > "$tree/etc/systemd/system/berth-vm.service" <<'U'
[Unit]
Description=Cases of test/vm

[Service]
Type=exec
ExecStart=/bin/sh -c 'mount -o ro /dev/vdb /mnt && exec bash /mnt/guest.sh'
U
mkdir -p "$tree/etc/systemd/system/multi-user.target.wants"
ln -s ../berth-vm.service "$tree/etc/systemd/system/multi-user.target.wants/berth-vm.service"

cp "$tree"/boot/vmlinuz-* "$out/vmlinuz"
cp "$tree"/boot/initrd.img-* "$out/initrd"
rm -rf "$tree"/var/cache/apt "$tree"/var/lib/apt/lists
mke2fs -q -t ext4 -d "$tree" "$out/root.img" 2G
