// The settings by which processes authenticate to each other and to the stores.
import { brokerUsers, serving, setting, storing } from './setting.ts'
import { flag, integer, oneOf, optional, path } from './values.ts'

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
  RPC_LINKS: setting({
    for: storing,
    reader: flag,
    default: '1',
    meaning:
      'Whether the process accepts links: calls of one caller share a connection and a private framing. With 0 callers use HTTP, and try to open a link again a minute after a refusal.',
  }),
  DRAIN_S: setting({
    for: serving,
    reader: integer(0, 10),
    default: { local: '0', sandbox: '5', production: '5' },
    meaning:
      'How long a stopping process still accepts calls and asks callers to use another replica.',
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
