#!/usr/bin/env bash
# Builds what the virtual machine boots: Debian's kernel, and an initial file system of
# Debian packages that are extracted and not installed. It is kept in the folder given,
# and made anew when this script changes.
#
#   test/vm/build.sh DIR
#
# Exit 3 means that a program of the host is missing, and says which.
set -euo pipefail
self=$(readlink -f "$0")
mkdir -p "$1"
cd "$1"
exec 9>lock
flock 9 # tests that run at the same time want the same
stamp=$(sha256sum <"$self" | cut -d' ' -f1)
[ "$(cat stamp 2>/dev/null)" = "$stamp" ] && exit 0

for tool in apt-get apt-cache dpkg-deb cpio depmod flock modprobe busybox python3; do
  command -v "$tool" >/dev/null || { echo "$tool is not on this machine"; exit 3; }
done

packages=(lvm2 mdadm dmsetup dmeventd libdevmapper1.02.1 libdevmapper-event1.02.1 libaio1 libreadline8 libtinfo6
  libblkid1 libudev1 libselinux1 libpcre2-8-0 libedit2 libbsd0 libmd0 util-linux mount libmount1 libsmartcols1 libuuid1
  fdisk libfdisk1 e2fsprogs libext2fs2 libcom-err2 libss2 xfsprogs libinih1 liburcu8 thin-provisioning-tools udev kmod
  libkmod2 libzstd1 liblzma5 libssl3 libc6 libacl1 libcap2 libsystemd0 liblz4-1 libgcrypt20 libgpg-error0 zlib1g
  libexpat1 libstdc++6 libgcc-s1 cryptsetup-bin libcryptsetup12 libjson-c5 libpopt0 libargon2-1 libcap-ng0
  libdbus-1-3 libattr1 libcrypt1 dash)
kernel=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\).*/\1/p' | head -1)
[ -n "$kernel" ] || { echo "apt-cache knows no kernel: run apt-get update"; exit 3; }

rm -rf debs root kern initrd stamp
mkdir -p debs root kern initrd
# As root, apt wants a folder that its own user may write.
(cd debs && apt-get download -qq -o APT::Sandbox::User=root "$kernel" "${packages[@]}")
for deb in debs/*.deb; do
  case $deb in
  debs/linux-image-*) dpkg-deb -x "$deb" kern ;;
  *) dpkg-deb -x "$deb" root ;;
  esac
done
rm -rf debs

release=$(ls kern/lib/modules)
depmod -b kern "$release"
mkdir -p initrd/{bin,sbin,usr/bin,usr/sbin,lib,lib64,usr/lib,proc,sys,dev,run,tmp,etc/lvm,mnt,var/lib}
cp -a "$(command -v busybox)" initrd/bin/busybox
tar -C root --exclude=./usr/share --exclude='*/gconv*' --exclude=./usr/lib/locale --exclude='*/perl*' \
  --exclude=./usr/lib/udev/hwdb.d --exclude=./lib/udev/hwdb.d --exclude=./lib/systemd/system -cf - . |
  tar -C initrd --keep-directory-symlink --skip-old-files -xf -
# busybox stands in only for what no package brings: its mount and lsblk do too little.
ln -sf dash initrd/bin/sh
for applet in $(busybox --list); do
  found=
  for dir in bin sbin usr/bin usr/sbin; do [ -e "initrd/$dir/$applet" ] || [ -L "initrd/$dir/$applet" ] && found=1; done
  [ -n "$found" ] || ln -s busybox "initrd/bin/$applet"
done
[ -e initrd/lib64/ld-linux-x86-64.so.2 ] || ln -s ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 initrd/lib64/

modules="virtio_pci virtio_net virtio_blk virtio_scsi sd_mod nvme dm-mod dm-thin-pool dm-snapshot dm-raid dm-crypt dm-mirror
  raid0 raid1 linear ext4 xfs crc32c_generic crc32_generic crc32c-intel libcrc32c loop"
for module in $modules; do
  modprobe -d "$PWD/kern" -S "$release" --show-depends "$module" 2>/dev/null | awk '$1 == "insmod" { print $2 }'
done | sort -u | while read -r file; do
  to=initrd/${file#"$PWD"/kern/}
  mkdir -p "$(dirname "$to")"
  cp "$file" "$to"
done
cp kern/lib/modules/"$release"/modules.{order,builtin,builtin.modinfo} "initrd/lib/modules/$release/"
depmod -b initrd "$release"

cat >initrd/etc/lvm/lvm.conf <<'CONF'
devices { use_devicesfile = 0 }
activation { monitoring = 0 udev_sync = 1 udev_rules = 1 }
global { use_lvmpolld = 0 use_lvmlockd = 0 system_id_source = "none" }
CONF
echo 'root:x:0:0:root:/:/bin/sh' >initrd/etc/passwd
id=100
for group in root disk tty kmem lp video render sgx input audio cdrom tape kvm dialout; do
  [ "$group" = root ] && echo 'root:x:0:' || echo "$group:x:$((id++)):"
done >initrd/etc/group
ln -sf /proc/self/mounts initrd/etc/mtab

cat >initrd/init <<'INIT'
#!/bin/busybox sh
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/ LVM_SUPPRESS_FD_WARNINGS=1
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs run /run
/bin/busybox mount -t tmpfs var /var/lib
mkdir -p /run/lock /run/udev
for m in virtio_pci virtio_blk virtio_scsi sd_mod nvme dm-mod loop xfs ext4 raid1; do modprobe $m; done
echo DRIVERS-LOADED >/dev/console
udevd=/lib/systemd/systemd-udevd
[ -x $udevd ] || udevd=/usr/lib/systemd/systemd-udevd
$udevd --daemon --resolve-names=never
udevadm trigger --type=subsystems --action=add
udevadm trigger --type=devices --action=add
udevadm settle --timeout=600
out=/dev/ttyS1
stty -F $out raw
{ /payload 2>/dev/console; echo $? >/tmp/rc; } | cat >$out # a pipe: lsblk cuts lines on a terminal
read rc </tmp/rc
echo "PAYLOAD-EXIT rc=$rc" >$out
/bin/busybox sync
/bin/busybox poweroff -f
INIT
chmod +x initrd/init
(cd initrd && find . | cpio -o -H newc --quiet) >base.cpio

# Not compressed it boots faster: the guest is emulated, and takes two seconds to unpack it.
python3 - kern/boot/vmlinuz-"$release" <<'PYTHON'
import lzma, sys
data = open(sys.argv[1], "rb").read()
start = data.find(b"\xfd7zXZ\x00")
open("vmlinux", "wb").write(lzma.LZMADecompressor().decompress(data[start:]))
PYTHON
rm -rf root kern initrd
echo "$stamp" >stamp
