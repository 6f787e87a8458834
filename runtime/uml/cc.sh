#!/bin/sh
# gcc for the kernel, which reads headers.h in its compiled form, headers.h.gch: of the time of most files, three quarters
# are for headers. Not for the programs around the kernel, nor for a file that tells the kernel's headers something by a
# macro: CREATE_TRACE_POINTS speaks to those of events, which headers.h has not, and a header beside the file is read behind it.
for file; do :; done
case " $* " in
*" -c -o arch/x86/"* | *" -c -o scripts/"*) exec gcc "$@" ;;
*" -nostdinc "*" -D__KERNEL__ "*" -c -o "*.c\ ) ;;
*) exec gcc "$@" ;;
esac
names=$(awk '/^#[ \t]*define pr_fmt/ { print "#undef pr_fmt"; next } /^#[ \t]*define CREATE_TRACE_POINTS/ { next }
    /^#[ \t]*(define|undef)/ { macro = 1 } /^#[ \t]*include[ \t]*</ && macro { exit 1 }' "$file") || exec gcc "$@"
# The compiled form is one for all files, so their names come behind it.
for word; do
    shift
    case $word in
    -DKBUILD_* | -D__KBUILD_* | -Dpr_fmt*)
        word=${word#-D}
        names="$names
#undef ${word%%[=(]*}
#define ${word%%=*} ${word#*=}" ;;
    *) set -- "$@" "$word" ;;
    esac
done
echo "$names" | exec gcc -include /build/headers.h -include /dev/stdin "$@"
