#!/bin/bash
# tick.sh FOLDER [save] is a job that runs on: it adds a line with attempt and process id to FOLDER/starts, then a byte to
# FOLDER/ticks each second. With "save" it needs some seconds to end when it is asked to, and then writes its attempt to
# FOLDER/saved.
if [ "${2-}" = save ]; then
	# shellcheck disable=SC2064 # of now
	trap "trap '' TERM; sleep 3; echo $BERTH_ATTEMPT >> '$1/saved'; exit 0" TERM
fi
echo "$BERTH_ATTEMPT $$" >> "$1/starts"
while :; do
	printf . >> "$1/ticks"
	sleep 1
done
