# All binaries in one image; docker-compose.yml says which of them a service runs. The target judge is the judge alone.

FROM golang:1.26 AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ENV CGO_ENABLED=0 GOFLAGS="-buildvcs=false -trimpath -tags=nomsgpack -ldflags=-s -gcflags=all=-dwarf=false"

FROM source AS build
ARG VERSION=
RUN go build -ldflags "-s -X orderstock/pkg/command.version=$VERSION" -o /out/bin/ ./cmd/order-service ./cmd/stock-service ./cmd/migrate ./cmd/loadtest
# The load tester's results, and what "migrate secrets" writes; a volume mounted here takes over its owner.
RUN mkdir -p /out/home/out && for of in mysql redis migrate stock order loadtest; do mkdir -p /out/secrets/$of; done

FROM gcr.io/distroless/static-debian12:nonroot AS services
COPY --from=build /out/bin/ /usr/local/bin/
COPY --from=build --chown=65532:65532 /out/home/ /home/nonroot/
COPY --from=build --chown=65532:65532 /out/secrets/ /secrets/
WORKDIR /home/nonroot
USER 65532:65532

FROM source AS build-judge
ARG VERSION=
RUN go build -ldflags "-s -X orderstock/pkg/command.version=$VERSION" -o /out/judge ./cmd/judge

# With a shell, for the commands of a shop's file, whose folder is mounted at /shop.
FROM gcr.io/distroless/static-debian12:debug-nonroot AS judge
COPY --from=build-judge /out/judge /usr/local/bin/
WORKDIR /shop
ENTRYPOINT ["judge"]

FROM services
