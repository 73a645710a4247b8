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
      'Mutual TLS between our processes. Production refuses to start with off. Addresses of services must be https with it and http without it; their defaults follow.',
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
      'Folder of tls.crt, tls.key and ca.crt, read when RPC_TLS is required and again when they change.',
  }),
  RPC_LINKS: setting({
    for: storing,
    reader: flag,
    default: '1',
    meaning:
      'Whether calls are taken over links, as frames of our own on one connection for each caller. With 0 callers use HTTP; they ask again a minute after they were refused.',
  }),
  DRAIN_S: setting({
    for: serving,
    reader: integer(0, 10),
    default: { local: '0', sandbox: '5', production: '5' },
    meaning:
      'How long a process that stops still takes calls while it tells its callers to go elsewhere.',
  }),
  DATABASE_PASSWORD_FILE: setting({
    for: [...storing, 'migrate'],
    reader: optional(path),
    default: '',
    meaning:
      'File of the password for DATABASE_URL, read for each new connection. Unset: that of the URL.',
  }),
  MIGRATE_AT_START: setting({
    for: storing,
    reader: flag,
    default: { local: '1', sandbox: '0', production: '0' },
    meaning:
      'Whether a service brings its own schema up to date at its start, for which it needs an owner’s rights. With 0 it waits, not ready, until the migration job has run.',
  }),
  DATABASE_LOGINS_DIR: setting({
    for: ['migrate'],
    reader: optional(path),
    default: '',
    meaning:
      'Folder of one password file for each service. With it, the migration job lets each service’s role log in by that password.',
  }),
  DATABASE_ROLE_LOGINS: setting({
    for: ['launcher'],
    reader: flag,
    default: '1',
    meaning:
      'Whether npm start makes a login for each service on the server of DATABASE_URL, for which that login needs createrole. With 0 all services share the login of DATABASE_URL.',
  }),
  NATS_PASSWORD_FILE: setting({
    for: [...brokerUsers, 'launcher'],
    reader: optional(path),
    default: '',
    meaning:
      'File of the password for NATS, read at each connection. The user is that of NATS_URL, or else the name of the process.',
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
      'Authority that signed the certificate of NATS, read at each connection. Unset: public ones.',
  }),
  NATS_REPLICAS: setting({
    for: ['stream-controller', 'launcher'],
    reader: integer(1, 5),
    default: { local: '1', sandbox: '1', production: '3' },
    meaning: 'Copies that NATS keeps of the stream of events.',
  }),
}
