// The settings that connect processes with each other: ports, addresses, stores, and how they authenticate.
import { isConnector } from '../rpc/auth/connector-name.ts'
import { logLevels } from '../telemetry/log.ts'
import { hostPorts } from './host-ports.ts'
import {
  adminPort,
  allProcesses,
  brokerUsers,
  environments,
  portOf,
  required,
  serviceUrl,
  serving,
  servingRpcs,
  setting,
  simulatorPublicOffset,
  storing,
} from './setting.ts'
import {
  baseUrl,
  databaseUrl,
  fail,
  flag,
  host,
  integer,
  natsUrl,
  oneOf,
  optional,
  origins,
  parseJson,
  path,
  type Reader,
  ratio,
  recordOf,
  sampler,
} from './values.ts'

/** The name of a back end: of the simulator, or of a connector. */
const backendName: Reader<string> = {
  of: 'simulator, or connector- and a name',
  read: (text) =>
    text === 'simulator' || isConnector(text)
      ? text
      : fail('must be simulator, or connector- and a name of small letters, digits and hyphens'),
}

/** Addresses of connectors by their names; empty for none. */
const connectorOrigins: Reader<Readonly<Record<string, string>>> = {
  of: 'JSON: addresses by name',
  read(text) {
    const given = Object.entries(recordOf(parseJson(text), 'the value'))
    return Object.fromEntries(
      given.map(([name, urls]) => [backendName.read(name), origins.read(String(urls))]),
    )
  },
}

/** Rows of the table, by environment variable. */
export const wiring = {
  PAYWEAVE_ENV: setting({
    for: allProcesses,
    reader: oneOf(environments),
    default: 'local',
    meaning: 'The environment. It determines the defaults of all other settings.',
  }),
  LOG_LEVEL: setting({
    for: allProcesses,
    reader: oneOf(logLevels),
    default: 'info',
    meaning: 'Minimum log level.',
  }),
  PORT_BASE: setting({
    for: allProcesses,
    // The block is 23 ports long.
    reader: integer(1024, 65_500),
    default: '7100',
    meaning: 'First port of the block of internal ports (local start).',
  }),
  PAYWEAVE_DATA_DIR: setting({
    for: allProcesses,
    reader: path,
    default: '.payweave',
    meaning: 'Folder of the local start: databases, secrets, credentials.',
  }),
  HOST: setting({
    for: [...serving, 'stream-controller'],
    reader: host,
    default: { local: '127.0.0.1', sandbox: '0.0.0.0', production: '0.0.0.0' },
    meaning: 'Address to listen on.',
  }),
  LISTEN_ADDRESS: setting({
    for: ['launcher'],
    reader: oneOf(['127.0.0.1', '0.0.0.0']),
    default: '127.0.0.1',
    meaning:
      'Address on which the processes of a local start listen, PostgreSQL and NATS apart, which stay on 127.0.0.1. 0.0.0.0 is for a container that publishes ports.',
  }),
  FORWARD_TO: setting({
    for: ['launcher'],
    reader: hostPorts,
    default: '',
    meaning:
      'The local start forwards connections to these ports of 127.0.0.1, so that pushes from a container reach receivers on the machine around it, for example `host.docker.internal:4000`.',
  }),
  PORT: setting({
    for: [...serving, 'launcher'],
    reader: integer(0, 65_535),
    default: { local: portOf, sandbox: '8080', production: '8080' },
    meaning:
      'Port of the API (gateway, locally 8080), of the RPCs (services) or of the pages (console, locally CONSOLE_PORT). 0: any free one.',
  }),
  ADMIN_PORT: setting({
    for: [...serving, 'stream-controller'],
    reader: integer(0, 65_535),
    default: {
      local: ({ process, portBase }) => String(adminPort(process, portBase)),
      sandbox: '8081',
      production: '8081',
    },
    meaning: 'Port of /metrics, /livez and /readyz.',
  }),
  SECRETS_DIR: setting({
    for: serving,
    reader: path,
    default: {
      local: ({ process, dataDir }) => `${dataDir}/secrets/${process}`,
      sandbox: '/run/secrets/payweave',
      production: '/run/secrets/payweave',
    },
    meaning: 'Folder of the process’s own keys and of the public keys that it trusts.',
  }),
  DATABASE_URL: setting({
    for: [...storing, 'migrate'],
    optionalFor: ['launcher'],
    reader: databaseUrl,
    default: required,
    meaning:
      'PostgreSQL 16 or newer; of several servers the primary is used. Unset in a local start: it starts a bundled server.',
    secret: true,
  }),
  NATS_URL: setting({
    for: brokerUsers,
    optionalFor: ['launcher'],
    reader: natsUrl,
    default: required,
    meaning: 'NATS with JetStream. Unset in a local start: it starts a server.',
    secret: true,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting({
    for: serving,
    reader: optional(baseUrl),
    default: '',
    meaning:
      'Base URL of the trace collector, OTLP over HTTP (`/v1/traces` is appended). Unset: traces are off.',
  }),
  OTEL_TRACES_SAMPLER: setting({
    for: serving,
    reader: sampler,
    default: 'parentbased_always_on',
    meaning: 'Which traces are recorded.',
  }),
  OTEL_TRACES_SAMPLER_ARG: setting({
    for: serving,
    reader: ratio,
    default: '1',
    meaning: 'Share of traces to record, 0 to 1, for the traceidratio samplers.',
  }),
  ACCOUNTS_URL: setting({
    for: [
      'gateway',
      'payments',
      'institution',
      'quotes',
      'billing',
      'delivery',
      'simulator',
      'console',
    ],
    reader: origins,
    default: serviceUrl('accounts'),
    meaning: 'RPC address of the accounts service.',
  }),
  PAYMENTS_URL: setting({
    for: ['gateway', 'accounts', 'simulator', 'console'],
    reader: origins,
    default: serviceUrl('payments'),
    meaning: 'RPC address of the payments service.',
  }),
  INSTITUTION_URL: setting({
    for: ['gateway', 'simulator', 'console'],
    reader: origins,
    default: serviceUrl('institution'),
    meaning: 'RPC address of the institution service.',
  }),
  QUOTES_URL: setting({
    for: ['gateway', 'institution', 'console'],
    reader: origins,
    default: serviceUrl('quotes'),
    meaning: 'RPC address of the quotes service.',
  }),
  BILLING_URL: setting({
    for: ['gateway', 'console'],
    reader: origins,
    default: serviceUrl('billing'),
    meaning: 'RPC address of the billing service.',
  }),
  DELIVERY_URL: setting({
    for: ['gateway', 'payments', 'accounts', 'console'],
    reader: origins,
    default: serviceUrl('delivery'),
    meaning: 'RPC address of the delivery service.',
  }),
  BACKEND_URL: setting({
    for: ['payments', 'accounts', 'institution', 'quotes', 'billing'],
    reader: origins,
    default: {
      ...serviceUrl('simulator'),
      production: undefined,
    },
    meaning:
      'RPC address of the back end, which serves payweave.backend.v1: real rails, or the simulator.',
  }),
  BACKEND_NAME: setting({
    for: ['payments', 'accounts', 'institution', 'quotes', 'billing', 'simulator'],
    reader: backendName,
    default: 'simulator',
    meaning:
      'Name of the back end at BACKEND_URL, in tokens and certificates: `simulator`, or a connector’s own, for example `connector-momo`. A connector reads here who it is.',
  }),
  CONNECTORS: setting({
    for: ['payments'],
    reader: connectorOrigins,
    default: '{}',
    meaning:
      'RPC addresses of further connectors, which routes can name, for example `{"connector-momo":"https://momo:8080"}`. A name stays here until no open payment has it.',
  }),
  SIMULATOR_URL: setting({
    for: ['gateway'],
    reader: optional(origins),
    default: { ...serviceUrl('simulator'), sandbox: '', production: '' },
    meaning:
      'RPC address of the simulator, whose health is then part of GET /readyz. Unset: there is no simulator.',
  }),
  CONNECTOR_PUBLIC_URL: setting({
    for: ['simulator'],
    reader: optional(baseUrl),
    default: {
      local: ({ portBase }) => `http://127.0.0.1:${portBase + simulatorPublicOffset}`,
      sandbox: '',
      production: '',
    },
    meaning:
      'Address at which browsers, providers and pushes reach the public port of the simulator or of a connector.',
    formerly: 'SIMULATOR_PUBLIC_URL',
  }),
  CONNECTOR_PUBLIC_PORT: setting({
    for: ['simulator'],
    reader: integer(0, 65_535),
    default: {
      local: ({ portBase }) => String(portBase + simulatorPublicOffset),
      sandbox: '8082',
      production: '8082',
    },
    meaning:
      'Public port: the pages and receivers of the simulator, the card form and webhooks of a connector; no RPC is served there. 0: any free one.',
    formerly: 'SIMULATOR_PUBLIC_PORT',
  }),
}

/** Rows of the table, by environment variable. */
export const security = {
  RPC_TLS: setting({
    for: [...serving, 'launcher'],
    reader: oneOf(['off', 'required']),
    default: { local: 'off', sandbox: 'off', production: 'required' },
    meaning:
      'Mutual TLS between our processes. Production refuses to start with off. Addresses of services are https with it and http without it; their defaults follow this setting.',
  }),
  TLS_DIR: setting({
    for: serving,
    reader: path,
    default: {
      local: ({ process, dataDir }) => `${dataDir}/tls/${process}`,
      sandbox: '/run/secrets/payweave-tls',
      production: '/run/secrets/payweave-tls',
    },
    meaning:
      'Folder of tls.crt, tls.key and ca.crt, read if RPC_TLS is required and reloaded when they change.',
  }),
  RPC_CALL_STREAMS: setting({
    for: servingRpcs,
    reader: flag,
    default: '1',
    formerly: 'RPC_LINKS',
    meaning:
      'Whether the process serves call streams: small calls of one caller share a gRPC stream. With 0 callers use HTTP/1.1, and try to open a stream again a minute after a refusal.',
  }),
  DRAIN_S: setting({
    for: serving,
    reader: integer(0, 10),
    default: { local: '0', sandbox: '2', production: '2' },
    meaning:
      'How long a stopping process still accepts calls and asks callers to use another replica: longer than the load balancer takes to notice.',
  }),
  DATABASE_PASSWORD_FILE: setting({
    for: [...storing, 'migrate'],
    reader: optional(path),
    default: '',
    meaning:
      'File with the password for DATABASE_URL, read for each new connection. Unset: the password of the URL.',
  }),
  MIGRATE_AT_START: setting({
    for: storing,
    reader: flag,
    default: { local: '1', sandbox: '0', production: '0' },
    meaning:
      'Whether a service runs its own migrations at its start, for which it needs an owner’s rights. With 0 it stays not ready until the migration job has run.',
  }),
  DATABASE_LOGINS_DIR: setting({
    for: ['migrate'],
    reader: optional(path),
    default: '',
    meaning:
      'Folder with one password file for each service. The migration job sets these passwords for the logins of the services’ roles.',
  }),
  DATABASE_ROLE_LOGINS: setting({
    for: ['launcher'],
    reader: flag,
    default: '1',
    meaning:
      'Whether npm start creates a login for each service on the server of DATABASE_URL, for which the login of the URL needs createrole. With 0 all services share the login of DATABASE_URL.',
  }),
  NATS_PASSWORD_FILE: setting({
    for: [...brokerUsers, 'launcher'],
    reader: optional(path),
    default: '',
    meaning:
      'File with the password for NATS, read at each connection. The user is that of NATS_URL, else the name of the process.',
  }),
  NATS_CREDS_FILE: setting({
    for: [...brokerUsers, 'launcher'],
    reader: optional(path),
    default: '',
    meaning:
      'Credentials file (JWT and seed) for NATS in operator mode, instead of a password; read at each connection.',
  }),
  NATS_CA_FILE: setting({
    for: [...brokerUsers, 'launcher'],
    reader: optional(path),
    default: '',
    meaning:
      'Certificate authority of NATS, read at each connection. Unset: the public authorities.',
  }),
  NATS_REPLICAS: setting({
    for: ['stream-controller', 'launcher'],
    reader: integer(1, 5),
    default: { local: '1', sandbox: '1', production: '3' },
    meaning: 'Number of replicas of the event stream in NATS.',
  }),
}
