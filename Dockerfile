# The released program with what it asks of a machine: git, which fetches pull requests, and the root certificates.
# The build context is a folder with the one file `review`, linked statically for the platform: `docker build --file Dockerfile FOLDER`.
FROM alpine:3.24@sha256:294b683cb724975bec92580e1e685676bd4b50bda910ddb8c51d4cabeaec77e6

# A repository that is mounted belongs to somebody else here, and git refuses such a one. Whoever mounts it into this container says by that
# that it is meant; and what the refusal guards against, programs that a repository's own settings name, is never run by review.
#
# The home is open to any user, because `docker run --user` gives it to one that nobody knows here; kept reviews are readable by their
# owner alone.
RUN apk add --no-cache ca-certificates git \
    && git config --file /etc/gitconfig --add safe.directory '*' \
    && addgroup -S -g 10001 review \
    && adduser -S -D -H -u 10001 -G review -h /home/review review \
    && install -d -m 1777 /home/review \
    && install -d -m 755 /repo

COPY --chmod=755 review /usr/local/bin/review

ENV HOME=/home/review
USER 10001:10001
WORKDIR /repo
ENTRYPOINT ["review"]
