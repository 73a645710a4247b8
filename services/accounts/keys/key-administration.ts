// What operators ask accounts about keys: what depends on them, sealing anew, and the audit of each step. It must not know a key.
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect'
import { invalid } from '#core/errors.ts'
import { sealedUnder } from '#core/seal.ts'
import { KeyAdministrationService, KeyStep } from '#gen/accounts/v1/key_administration_pb.js'
import type { Queryable } from '#runtime/db.ts'
import type { Dependant, DependantSource } from '#runtime/keys/dependants.ts'
import {
  type ProcessKeys,
  type ProcessKeysOptions,
  startProcessKeys,
} from '#runtime/keys/key-service.ts'
import { type SealedColumn, sealedColumns } from '../at-rest.ts'
import { insertAudit } from '../project-store.ts'
import { actor } from '../wire.ts'
import { readKeysByPepper, readPinsByPepper, readSessionsByKey } from './dependants-store.ts'
import { type ResealOptions, resealPage } from './reseal.ts'
import { readSealedHeaders } from './sealed-store.ts'

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
    place: rowId,
    id: rowId,
    keyId: sealedUnder(sealed)?.keyId ?? '',
  }))
}
