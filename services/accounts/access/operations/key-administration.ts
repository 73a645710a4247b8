// Operators' work on keys: what depends on a key, resealing, and the audit of each step.
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect'
import { invalid } from '#core/errors/errors.ts'
import { sealedUnder } from '#core/identity/seal.ts'
import {
  KeyAdministrationService,
  KeyStep,
} from '#gen/payweave/accounts/v1/key_administration_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import type { Dependant, DependantSource } from '#platform/keys/dependants.ts'
import {
  type ProcessKeys,
  type ProcessKeysOptions,
  startProcessKeys,
} from '#platform/keys/key-service.ts'
import { type SealedColumn, sealedColumns } from '../domain/at-rest.ts'
import { readKeysByPepper, readPinsByPepper, readSessionsByKey } from '../store/dependants-store.ts'
import { insertAudit } from '../store/project-store.ts'
import { readSealedHeaders } from '../store/sealed-store.ts'
import { actor } from './change.ts'
import { type ResealOptions, resealPage } from './reseal.ts'

const actions: Partial<Record<KeyStep, string>> = {
  [KeyStep.ADDED]: 'add_key',
  [KeyStep.USED]: 'use_key',
  [KeyStep.RETIRED]: 'retire_key',
  [KeyStep.RESEALED]: 'reseal',
}

/** The keys of accounts as operators see them. */
export function startAccountKeys(
  options: Omit<ProcessKeysOptions, 'dependants' | 'files'> & {
    files: ProcessKeysOptions['files'] & Record<'seal.key', ResealOptions['keys']>
  },
): ProcessKeys {
  const { db, files } = options
  const keys = startProcessKeys({ ...options, dependants: accountDependants(db) })
  return {
    ...keys,
    routes(router: ConnectRouter) {
      keys.routes(router)
      router.service(KeyAdministrationService, administration({ db, keys: files['seal.key'] }))
    },
  }
}

function administration(options: ResealOptions): ServiceImpl<typeof KeyAdministrationService> {
  return {
    resealPage: (request) => resealPage(options, request),
    async recordKeyStep({ file, keyId, step, unchecked }) {
      const action = actions[step]
      if (action === undefined) throw invalid('step', 'must be one of the steps')
      const { caller, requestId } = actor()
      await insertAudit(options.db, {
        caller,
        requestId,
        action,
        projectId: undefined,
        targetId: keyId,
        details: { file, ...(unchecked ? { unchecked: 'true' } : {}) },
      })
      return {}
    },
  }
}

function source(kind: string, read: DependantSource['read']): DependantSource {
  return { kind, read }
}

/** Stored values by the file whose keys they need. */
export function accountDependants(db: Queryable): Record<string, DependantSource[]> {
  return {
    pepper: [
      source('subscription key', (after, limit) =>
        readKeysByPepper(db, 'subscription_key', after, limit),
      ),
      source('API key', (after, limit) => readKeysByPepper(db, 'api_key', after, limit)),
      source('pin of a business account', (after, limit) => readPinsByPepper(db, after, limit)),
    ],
    'session.key': [
      source('live session that a repeat shows', (after, limit) =>
        readSessionsByKey(db, after, limit),
      ),
    ],
    'seal.key': sealedColumns.map((column) =>
      source(column, (after, limit) => sealedBy(db, column, after, limit)),
    ),
  }
}

async function sealedBy(
  db: Queryable,
  column: SealedColumn,
  after: string,
  limit: number,
): Promise<Dependant[]> {
  const rows = await readSealedHeaders(db, column, after, limit)
  return rows.map(({ rowId, sealed }) => ({
    cursor: rowId,
    id: rowId,
    keyId: sealedUnder(sealed)?.keyId ?? '',
  }))
}
