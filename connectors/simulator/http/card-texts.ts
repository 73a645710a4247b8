// The texts of the card form in the languages of payers' pages; no markup.
import type { Language } from '#core/text/language.ts'
import type { CardProblem } from '../domain/card.ts'
import type { ClosedReason } from '../domain/charge.ts'

/** Everything that the card form says, in one language. `{…}` is filled in. */
export type CardTexts = Record<CardProblem | ClosedReason | keyof typeof own, string>

const own = {
  title: 'Pay by card',
  to: 'to {merchant}',
  number: 'Card number',
  expiry: 'Expiry date (MM/YY)',
  cvc: 'Security code',
  pay: 'Pay {price}',
  approved: 'Approved',
  approvedText: 'The payment was approved.',
  declined: 'Declined',
  declinedText: 'The card was declined. No money moved.',
  insufficientFundsText: 'The card was declined: insufficient funds. No money moved.',
  closed: 'Cannot be paid',
  again: 'Try again or use another card',
  proceed: 'Continue',
  unknown: 'Unknown form',
  unknownText: 'There is no such card form. Go back and open it again.',
  sandbox: 'Sandbox: no real money moves here.',
}

const en: CardTexts = {
  ...own,
  noNumber: 'Enter the card number, 12 to 19 digits.',
  noExpiry: 'Enter the expiry date as MM/YY.',
  pastExpiry: 'The card has expired. Use another card.',
  noCvc: 'Enter the security code, 3 or 4 digits.',
  already_paid: 'This payment has been paid already.',
  withdrawn: 'This payment has been withdrawn and cannot be paid any more.',
  expired: 'The time to pay has run out.',
}

const es: CardTexts = {
  title: 'Pagar con tarjeta',
  to: 'a {merchant}',
  number: 'Número de tarjeta',
  expiry: 'Fecha de caducidad (MM/AA)',
  cvc: 'Código de seguridad',
  pay: 'Pagar {price}',
  approved: 'Aprobado',
  approvedText: 'El pago ha sido aprobado.',
  declined: 'Rechazado',
  declinedText: 'La tarjeta fue rechazada. No se cobró nada.',
  insufficientFundsText: 'La tarjeta fue rechazada: fondos insuficientes. No se cobró nada.',
  closed: 'No se puede pagar',
  again: 'Intentarlo de nuevo o usar otra tarjeta',
  proceed: 'Continuar',
  unknown: 'Formulario desconocido',
  unknownText: 'Este formulario de tarjeta no existe. Vuelva y ábralo de nuevo.',
  sandbox: 'Entorno de pruebas: aquí no se mueve dinero real.',
  noNumber: 'Escriba el número de la tarjeta, de 12 a 19 cifras.',
  noExpiry: 'Escriba la fecha de caducidad como MM/AA.',
  pastExpiry: 'La tarjeta ha caducado. Use otra tarjeta.',
  noCvc: 'Escriba el código de seguridad, de 3 o 4 cifras.',
  already_paid: 'Este pago ya está pagado.',
  withdrawn: 'Este pago se ha retirado y ya no se puede pagar.',
  expired: 'El plazo para pagar ha terminado.',
}

const fr: CardTexts = {
  title: 'Payer par carte',
  to: 'à {merchant}',
  number: 'Numéro de carte',
  expiry: 'Date d’expiration (MM/AA)',
  cvc: 'Code de sécurité',
  pay: 'Payer {price}',
  approved: 'Accepté',
  approvedText: 'Le paiement a été accepté.',
  declined: 'Refusé',
  declinedText: 'La carte a été refusée. Rien n’a été prélevé.',
  insufficientFundsText: 'La carte a été refusée : provision insuffisante. Rien n’a été prélevé.',
  closed: 'Paiement impossible',
  again: 'Réessayer ou utiliser une autre carte',
  proceed: 'Continuer',
  unknown: 'Formulaire inconnu',
  unknownText: 'Ce formulaire de carte n’existe pas. Revenez en arrière et rouvrez-le.',
  sandbox: 'Environnement de test : aucun argent réel ne circule ici.',
  noNumber: 'Saisissez le numéro de la carte, de 12 à 19 chiffres.',
  noExpiry: 'Saisissez la date d’expiration sous la forme MM/AA.',
  pastExpiry: 'La carte a expiré. Utilisez une autre carte.',
  noCvc: 'Saisissez le code de sécurité, 3 ou 4 chiffres.',
  already_paid: 'Ce paiement a déjà été effectué.',
  withdrawn: 'Ce paiement a été retiré et ne peut plus être effectué.',
  expired: 'Le délai de paiement est écoulé.',
}

const portuguese: CardTexts = {
  title: 'Pagar com cartão',
  to: 'a {merchant}',
  number: 'Número do cartão',
  expiry: 'Validade (MM/AA)',
  cvc: 'Código de segurança',
  pay: 'Pagar {price}',
  approved: 'Aprovado',
  approvedText: 'O pagamento foi aprovado.',
  declined: 'Recusado',
  declinedText: 'O cartão foi recusado. Nada foi cobrado.',
  insufficientFundsText: 'O cartão foi recusado: saldo insuficiente. Nada foi cobrado.',
  closed: 'Não é possível pagar',
  again: 'Tentar de novo ou usar outro cartão',
  proceed: 'Continuar',
  unknown: 'Formulário desconhecido',
  unknownText: 'Este formulário de cartão não existe. Volte e abra-o de novo.',
  sandbox: 'Ambiente de testes: aqui não circula dinheiro real.',
  noNumber: 'Introduza o número do cartão, de 12 a 19 algarismos.',
  noExpiry: 'Introduza a validade no formato MM/AA.',
  pastExpiry: 'O cartão está fora da validade. Use outro cartão.',
  noCvc: 'Introduza o código de segurança, de 3 ou 4 algarismos.',
  already_paid: 'Este pagamento já foi efetuado.',
  withdrawn: 'Este pagamento foi retirado e já não pode ser efetuado.',
  expired: 'O prazo de pagamento terminou.',
}

const brazilian: CardTexts = {
  ...portuguese,
  to: 'para {merchant}',
  sandbox: 'Ambiente de testes: aqui não há dinheiro real.',
  noNumber: 'Digite o número do cartão, de 12 a 19 dígitos.',
  noExpiry: 'Digite a validade no formato MM/AA.',
  pastExpiry: 'O cartão está vencido. Use outro cartão.',
  noCvc: 'Digite o código de segurança, de 3 ou 4 dígitos.',
  withdrawn: 'Este pagamento foi retirado e não pode mais ser feito.',
  already_paid: 'Este pagamento já foi feito.',
}

/** What is filled in is isolated (U+2068, U+2069), so that an amount or a Latin name keeps its own direction. */
const ar: CardTexts = {
  title: 'ادفع بالبطاقة',
  to: 'إلى \u2068{merchant}\u2069',
  number: 'رقم البطاقة',
  expiry: 'تاريخ الانتهاء (شهر/سنة)',
  cvc: 'رمز الأمان',
  pay: 'ادفع \u2068{price}\u2069',
  approved: 'تمت الموافقة',
  approvedText: 'تمت الموافقة على الدفع.',
  declined: 'مرفوض',
  declinedText: 'رُفضت البطاقة. لم يُخصم أي مبلغ.',
  insufficientFundsText: 'رُفضت البطاقة: الرصيد غير كافٍ. لم يُخصم أي مبلغ.',
  closed: 'لا يمكن الدفع',
  again: 'حاول مرة أخرى أو استخدم بطاقة أخرى',
  proceed: 'متابعة',
  unknown: 'نموذج غير معروف',
  unknownText: 'نموذج البطاقة هذا غير موجود. ارجع وافتحه من جديد.',
  sandbox: 'بيئة تجريبية: لا تنتقل هنا أموال حقيقية.',
  noNumber: 'أدخل رقم البطاقة، من 12 إلى 19 رقمًا.',
  noExpiry: 'أدخل تاريخ الانتهاء بالشكل شهر/سنة.',
  pastExpiry: 'انتهت صلاحية البطاقة. استخدم بطاقة أخرى.',
  noCvc: 'أدخل رمز الأمان، 3 أو 4 أرقام.',
  already_paid: 'دُفع هذا الطلب من قبل.',
  withdrawn: 'سُحب طلب الدفع هذا ولم يعد دفعه ممكنًا.',
  expired: 'انتهت مهلة الدفع.',
}

/** The texts of each language. */
export const cardTexts: Readonly<Record<Language, CardTexts>> = {
  en,
  es,
  fr,
  'pt-PT': portuguese,
  'pt-BR': brazilian,
  ar,
}
