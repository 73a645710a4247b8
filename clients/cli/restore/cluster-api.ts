// Creates and removes a CloudNativePG cluster from inside a pod, by the Kubernetes API and the pod's service account.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { DatabaseCluster } from './drill-cluster.ts'

const mountedAt = '/var/run/secrets/kubernetes.io/serviceaccount'
const lookAgainMs = 2_000
const answerWithinMs = 10_000

/**
 * Opens the API at KUBERNETES_SERVICE_HOST with the token, the authority and the namespace that Kubernetes mounts (in
 * another folder, if SERVICE_ACCOUNT_DIR names one). Its methods reject with an Error for any answer that they do not
 * expect, and as `stopping` aborts.
 */
export function clusterApi(env: NodeJS.ProcessEnv) {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (!host) throw new Error('KUBERNETES_SERVICE_HOST is not set: this is no pod')
  const folder = env['SERVICE_ACCOUNT_DIR'] ?? mountedAt
  const read = (name: string) => fs.readFileSync(path.join(folder, name), 'utf8').trim()
  const agent = new Agent({ connect: { ca: read('ca.crt') } })
  const clusters = `https://${host.includes(':') ? `[${host}]` : host}:${port}/apis/postgresql.cnpg.io/v1/namespaces/${read('namespace')}/clusters`

  async function call(method: 'GET' | 'POST' | 'DELETE', name: string, body?: unknown) {
    const response = await request(name === '' ? clusters : `${clusters}/${name}`, {
      method,
      dispatcher: agent,
      headersTimeout: answerWithinMs,
      headers: {
        // Kubernetes replaces it while the pod runs.
        authorization: `Bearer ${read('token')}`,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.statusCode, text: await response.body.text() }
  }

  async function find(name: string): Promise<DatabaseCluster | undefined> {
    const answer = await call('GET', name)
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw refused(`reading ${name}`, answer)
    return JSON.parse(answer.text) as DatabaseCluster
  }

  return {
    /** The cluster with this name, if there is one. */
    find,

    /** Creates a cluster, whose name must be free. */
    async create(cluster: DatabaseCluster): Promise<void> {
      const answer = await call('POST', '', cluster)
      if (answer.status !== 201) throw refused(`creating ${cluster.metadata.name}`, answer)
    },

    /** Waits until the operator reports the cluster as ready: it was restored and takes connections. */
    async ready(name: string, stopping: AbortSignal): Promise<void> {
      for (;;) {
        const conditions = (await find(name))?.status?.conditions ?? []
        if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) return
        await delay(lookAgainMs, undefined, { signal: stopping })
      }
    },

    /** Removes the cluster with its volumes, and waits until it is gone; nothing if there is none. */
    async remove(name: string, stopping: AbortSignal): Promise<void> {
      const answer = await call('DELETE', name)
      if (answer.status === 404) return
      if (answer.status !== 200 && answer.status !== 202) throw refused(`removing ${name}`, answer)
      while ((await find(name)) !== undefined) {
        await delay(lookAgainMs, undefined, { signal: stopping })
      }
    },
  }
}

function refused(what: string, { status, text }: { status: number; text: string }): Error {
  return new Error(`${what} was answered by ${status}: ${text.slice(0, 500)}`)
}
