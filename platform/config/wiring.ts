// The settings that connect processes with each other: ports, addresses, stores.
import { logLevels } from '../telemetry/log.ts'
import {
  brokerUsers,
  environments,
  everybody,
  placeOf,
  portOf,
  required,
  serviceUrl,
  serving,
  setting,
  simulatorPublicPlace,
  storing,
} from './setting.ts'
import {
  baseUrl,
  databaseUrl,
  host,
  integer,
  natsUrl,
  oneOf,
  optional,
  origins,
  path,
  ratio,
  sampler,
} from './values.ts'

/** Rows of the table, by environment variable. */
export const wiring = {
  PAYWEAVE_ENV: setting({
    for: everybody,
    reader: oneOf(environments),
    default: 'local',
    meaning: 'The environment. It determines the defaults of all other settings.',
  }),
  LOG_LEVEL: setting({
    for: everybody,
    reader: oneOf(logLevels),
    default: 'info',
    meaning: 'Minimum log level.',
  }),
  PORT_BASE: setting({
    for: everybody,
    // The block is 22 ports long.
    reader: integer(1024, 65_500),
    default: '7100',
    meaning: 'First port of the block of internal ports (local start).',
  }),
  PAYWEAVE_DATA_DIR: setting({
    for: everybody,
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
  PORT: setting({
    for: [...serving, 'launcher'],
    reader: integer(0, 65_535),
    default: { local: portOf, sandbox: '8080', production: '8080' },
    meaning: 'Port of the API (gateway, locally 8080) or of the RPCs (services). 0: any free one.',
  }),
  ADMIN_PORT: setting({
    for: [...serving, 'stream-controller'],
    reader: integer(0, 65_535),
    default: {
      local: ({ process, portBase }) => String(portBase + 10 + placeOf(process)),
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
    meaning: 'PostgreSQL. Unset in a local start: it starts a bundled server.',
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
    for: ['gateway', 'payments', 'institution', 'quotes', 'billing', 'delivery', 'simulator'],
    reader: origins,
    default: serviceUrl('accounts'),
    meaning: 'RPC address of the accounts service.',
  }),
  PAYMENTS_URL: setting({
    for: ['gateway', 'accounts', 'delivery', 'simulator'],
    reader: origins,
    default: serviceUrl('payments'),
    meaning: 'RPC address of the payments service.',
  }),
  INSTITUTION_URL: setting({
    for: ['gateway', 'simulator'],
    reader: origins,
    default: serviceUrl('institution'),
    meaning: 'RPC address of the institution service.',
  }),
  QUOTES_URL: setting({
    for: ['gateway', 'institution'],
    reader: origins,
    default: serviceUrl('quotes'),
    meaning: 'RPC address of the quotes service.',
  }),
  BILLING_URL: setting({
    for: ['gateway', 'simulator'],
    reader: origins,
    default: serviceUrl('billing'),
    meaning: 'RPC address of the billing service.',
  }),
  DELIVERY_URL: setting({
    for: ['gateway', 'payments', 'accounts', 'institution', 'billing'],
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
    meaning: 'RPC address of the back end, which serves backend/v1: real rails, or the simulator.',
  }),
  SIMULATOR_URL: setting({
    for: ['gateway'],
    reader: optional(origins),
    default: { ...serviceUrl('simulator'), sandbox: '', production: '' },
    meaning:
      'RPC address of the simulator, whose health is then part of GET /readyz. Unset: there is no simulator.',
  }),
  SIMULATOR_PUBLIC_URL: setting({
    for: ['simulator'],
    reader: optional(baseUrl),
    default: {
      local: ({ portBase }) => `http://127.0.0.1:${portBase + simulatorPublicPlace}`,
      sandbox: '',
      production: '',
    },
    meaning: 'The simulator’s public port as browsers and pushes reach it.',
  }),
  SIMULATOR_PUBLIC_PORT: setting({
    for: ['simulator'],
    reader: integer(0, 65_535),
    default: {
      local: ({ portBase }) => String(portBase + simulatorPublicPlace),
      sandbox: '8082',
      production: '8082',
    },
    meaning:
      'Port of the simulator’s pages and receivers; no RPC is served there. 0: any free one.',
  }),
}
