# Starts the receiver, which writes its port into a pipe. A real one has a fixed address and a certificate.
mkfifo port
python3 receiver.py port >alerts &
# shellcheck disable=SC2034 # for the caller, which ends it
helper=$!
read -r number <port
ALERTS_URL=http://127.0.0.1:$number
export ALERTS_URL
