FROM node:24-slim AS base

ENV NODE_ENV=production
WORKDIR /app

# The optional dependencies are Node.js itself, for machines with an older one. This image has it.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional && npm cache clean --force

COPY LICENSE manifest.yml ./
COPY src ./src

# A named volume takes over this owner. A bind mount doesn't, so make it writable for uid 1000.
RUN mkdir -p data node_modules/.cache/docs-agent && chown node:node data node_modules/.cache/docs-agent
VOLUME /app/data
STOPSIGNAL SIGTERM
USER node

# The self-hosted job service, with bubblewrap, git and an agent from npm: docker build --target
# service. Its settings are /app/service.yml. docs/containment.md says what the host has to allow.
FROM base AS service
USER root
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap ca-certificates git openssh-client && rm -rf /var/lib/apt/lists/*
# The version that npm run test:agents tests.
ARG AGENT_PACKAGE=opencode-ai@1.18.33
RUN npm install --global --allow-scripts="$AGENT_PACKAGE" "$AGENT_PACKAGE" && npm cache clean --force
# By this, config check knows that every address of the container is its own.
ENV container=docker
USER node
EXPOSE 4000
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:4000/healthz`, { signal: AbortSignal.timeout(4000) }).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/service/main.ts"]

# The Slack app, which docker build makes by default.
FROM base AS app
ENV STORE_URL=sqlite:///app/data/docs-agent.sqlite

# The image keeps what V8 has compiled. So a start is faster and needs less memory, also in a
# read-only container.
ENV NODE_COMPILE_CACHE=/app/node_modules/.cache/docs-agent
RUN node --min-semi-space-size=4 --max-semi-space-size=16 --heap-growing-percent=25 src/app/main.ts --help > /dev/null
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/healthz`, { signal: AbortSignal.timeout(4000) }).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

# Node.js itself is process 1, so that SIGTERM reaches it. The flags collect garbage sooner than V8
# does by itself, so a burst takes a third less memory (npm run bench -- memory).
CMD ["node", "--min-semi-space-size=4", "--max-semi-space-size=16", "--heap-growing-percent=25", "src/app/main.ts"]
